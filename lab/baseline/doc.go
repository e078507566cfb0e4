// Package baseline holds what other engines, protocols and papers do where Meanwhile estimates a
// server's time, chooses a playout delay or decides how early commands are made, so that the
// laboratory can run them beside ours on the same packets. Each is written from its published
// source or description, named at the type; where only an abstract was at hand, it says so.
//
// Groups are the other way to know who is in sight. The caller passes the time; nothing here reads
// a clock. The library itself uses none of it.
package baseline
