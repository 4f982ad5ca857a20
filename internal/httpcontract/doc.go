// Package httpcontract is what every adapter of package guard has in common, as one suite that each of them must pass:
// what clients are told, who they are taken for, which routes and tiers the layers see, and what is given back when.
//
// An [Adapter] builds a handler from an [App], which names no framework, and says as data where its framework differs.
// The suite asks it over real connections. What only one framework has is tested beside that framework's adapter.
package httpcontract
