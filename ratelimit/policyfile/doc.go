// Package policyfile reads rate limits from a YAML file and keeps to it while it changes: what operators set
// without building the program anew. The file says what [ratelimit.Policy] says, and means the same.
//
//	version: 1
//	ratelimit:
//	  - name: api
//	    bucket: {rate: 10/s, burst: 20}
//	    plans:
//	      gold: {bucket: {rate: 100/s, burst: 200}}
//	    overrides:
//	      - {caller: [user, "42"], plan: gold}
//
// docs/policyfile.md has every field. Reading is strict: what is misspelt, given twice or out of range is an
// error that names file, line, policy, field, value and what is wanted, and all of a file's errors are told at
// once. A file that is read is one that [ratelimit.New] takes.
//
// [Watch] follows the file. What callers have spent stays in the store by the policy's name, so a reload
// changes limits and forgives nothing.
//
// Match and Key, which are functions, have no place in a file: set them on what [File.Policies] returns.
package policyfile
