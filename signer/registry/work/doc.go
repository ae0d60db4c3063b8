// Package work signs what a registry has published: one revision at a time, in any
// process, as often as need be. It is for the workers of package registry and for batch
// signing.
//
// A revision's record says all that goes into its statement, the time included, so
// however many workers sign it, they sign the same payload; the first bundle stays. A
// worker keeps nothing.
//
// # What it does not protect against
//
// The store is believed: whoever can write to it decides what is signed, within what
// the check of documents lets through. Give write access to publishers through package
// registry alone.
package work
