// Package accesslog reads access logs: of Apache, nginx, HAProxy, Traefik and Caddy, plain or compressed by gzip.
//
//	log, err := accesslog.Open("access.log.gz", nil, accesslog.Options{})
//	…
//	defer log.Close()
//	var e accesslog.Entry
//	for log.Next(&e) {
//		… // e.Start, e.Address, e.Path
//	}
//	err = log.Err()
//
// # Formats
//
// "combined" is that of Apache and of nginx, and their common format, which lacks the referer and the agent:
//
//	host ident user [17/May/2015:08:05:32 +0000] "GET /path HTTP/1.1" status bytes "referer" "agent" …
//
// If the first field behind the agent is a number with a decimal point, such as 0.123, it is nginx's $request_time: the
// duration in seconds. Whole numbers are not taken for one, since they may as well be bytes, or Apache's %D, which counts
// microseconds. A virtual host with its port before the client (Apache's vhost_combined) is skipped.
//
// "nginx-json" is a JSON object a line, as log_format writes it with escape=json. The fields may have any of these names:
//
//	time      msec, time_iso8601, time_local, time, timestamp, @timestamp
//	client    remote_addr, remote_ip, client_ip, client
//	user      remote_user, user
//	request   request; or request_method or method, with request_uri, uri or path
//	duration  request_time
//
// "haproxy" is its HTTP log (option httplog) behind any syslog header or none. Its accept date says no zone and is taken for
// UTC. Options.Field is "1" for the first captured request header, "2" for the second, and so on. Where no request header is
// captured, but headers of responses are, those are counted.
//
// "traefik" and "caddy" are their JSON logs, whose field names are left as they are by default. What Caddy logs about a
// request besides its access entry is a bad line, as is every other message.
//
// # Times
//
// A time stamp without a zone is taken for UTC, and a number for seconds since 1970. Traefik and HAProxy log when a request
// began. The others log when it ended: where they say how long it took, the start is computed; where they do not, the time
// logged stands for it. Lines of before 1970 or beyond 2262, and those with negative durations, are bad.
//
// # Requests
//
// Whatever a client has sent is a request, also if it is no HTTP: then Entry.Method and Entry.Path are empty. A path is that
// of the log, and is not decoded; of a URL, as proxies get it, it is the path alone. Nothing in an Entry is safe to print as
// it is: clients have chosen it.
package accesslog
