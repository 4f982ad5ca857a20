package redisstore

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"
)

// callError is a failed call with its reason, one of a small set of words.
type callError struct {
	reason string
	err    error
	unsent bool // it never reached Redis
}

func (e *callError) Error() string { return "redisstore: " + e.reason + ": " + e.err.Error() }

// Unwrap returns the client's error.
func (e *callError) Unwrap() error { return e.err }

// Reason names the kind of failure for labels: timeout, refused, tls, readonly, oom, auth, loading, busy, moved,
// script, panic or error.
func (e *callError) Reason() string { return e.reason }

// Undone tells whether Redis certainly did nothing: it was not reached, or refused the whole call.
func (e *callError) Undone() bool { return !unknownOutcome(e) }

// caught makes an error of a panic in the client or a rule. Defer it.
func caught(err *error) {
	if p := recover(); p != nil {
		*err = panicked(p)
	}
}

func panicked(p any) error { return &callError{reason: "panic", err: fmt.Errorf("panic: %v", p)} }

// replyReason maps the first word of Redis' error replies to reasons.
func replyReason(text string) string {
	word, _, _ := strings.Cut(text, " ")
	switch word {
	case "READONLY", "MASTERDOWN", "NOREPLICAS", "MISCONF":
		return "readonly"
	case "OOM":
		return "oom"
	case "NOAUTH", "WRONGPASS", "NOPERM", "FORBIDDEN":
		return "auth"
	case "LOADING":
		return "loading"
	case "CLUSTERDOWN":
		if strings.Contains(text, "cluster is down") {
			return "loading"
		}
		return "moved" // the slot is nobody's
	case "BUSY":
		return "busy"
	case "MOVED", "ASK", "TRYAGAIN", "CROSSSLOT":
		return "moved"
	}
	switch {
	case forbiddenInScript(text):
		return "auth"
	case strings.Contains(text, "unauthenticated"): // what a client hears that sent much before it said who it is
		return "auth"
	case strings.Contains(text, "max number of clients"):
		return "busy"
	}
	for _, fault := range []string{"WRONGTYPE", "NOSCRIPT", "user_script", "running script", "compiling script"} {
		if strings.Contains(text, fault) {
			return "script"
		}
	}
	return "error"
}

func classify(err error) error {
	if call, ok := errors.AsType[*callError](err); ok {
		return call
	}
	var reply redis.Error
	var network net.Error
	reason := "error"
	switch {
	case strings.Contains(err.Error(), "all sentinels specified") && errors.Is(err, redis.Nil):
		err = fmt.Errorf("the Sentinels know no master of that name: want the URL's master_name to be as in their configuration: %w", err)
	case errors.Is(err, redis.Nil): // which none of the scripts says
		err = fmt.Errorf("the cluster does not say where its nodes are: want cluster-preferred-endpoint-type ip, or hostname with "+
			"cluster-announce-hostname: %w", err)
	case errors.As(err, &reply):
		reason = replyReason(reply.Error())
	case errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, context.DeadlineExceeded),
		errors.As(err, &network) && network.Timeout():
		reason = "timeout"
	case untrusted(err), offRecord(err):
		reason = "tls"
	case undialled(err):
		reason = "refused"
	}
	return &callError{reason: reason, err: err}
}

// untrusted tells whether there was no connection since its certificate is none to trust: expired, another's, of an
// unknown authority.
func untrusted(err error) bool {
	_, ok := errors.AsType[*tls.CertificateVerificationError](err)
	return ok
}

// offRecord tells whether TLS ended: one side alerted the other, or something else than TLS came. A side that has
// connected may alert, too, as a Redis that wants a certificate of its clients.
func offRecord(err error) bool {
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return true
	}
	operation, ok := errors.AsType[*net.OpError](err)
	return ok && (operation.Op == "remote error" || operation.Op == "local error")
}

// undialled tells whether there was no connection, as if nobody listens there, or the name is unknown.
func undialled(err error) bool {
	var operation *net.OpError
	return errors.As(err, &operation) && operation.Op == "dial"
}

// unknownOutcome tells whether a call that failed so may have been executed all the same.
func unknownOutcome(err error) bool {
	call, ok := errors.AsType[*callError](err)
	if !ok {
		return false
	}
	switch {
	case call.unsent, undialled(call.err), untrusted(call.err):
		return false
	case call.reason == "timeout":
		return !errors.Is(call.err, redis.ErrPoolTimeout)
	}
	switch call.reason {
	case "error", "tls", "panic", "script":
		return true
	}
	return halfWay(call.err)
}

// halfWay tells whether a script has begun.
func halfWay(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply) && (strings.Contains(reply.Error(), "user_script") || forbiddenInScript(reply.Error()))
}

// forbiddenInScript tells whether a script met a command, or a key, that its user may not use: in the words of Redis 7.0, and
// in those of Redis 7.2 and Valkey.
func forbiddenInScript(text string) bool {
	return strings.Contains(text, "executing the script can't") || strings.Contains(text, "ACL failure in script")
}

// nobodys tells whether a call failed since nobody has its slot.
func nobodys(err error) bool {
	call, ok := errors.AsType[*callError](classify(err))
	return ok && call.reason == "moved" && redis.HasErrorPrefix(call.err, "CLUSTERDOWN")
}

// moving tells whether a call failed since its keys are on their way from one master to another. Nothing was done.
func moving(err error) bool {
	var reply redis.Error
	return misplaced(err) && errors.As(err, &reply) && !nobodys(err)
}
