// Package engine runs the rules of a game without knowing their types. An entity is an ID and a
// state that a schema.Kind turns into integers; a rule is a closure over a World. Package game is
// the typed face of this package for authors of games. Servers, clients and gametest drive a world
// through an Engine.
//
// # Callbacks
//
// Rules are callbacks: Join, Leave, Act, Step, Referee, Bot, ShownTo, Groups, Watch and the handlers
// of messages (On). The engine runs them one at a time. After each one it
//
//   - rounds every state that the callback may have changed onto the simulation grid,
//   - removes what the callback despawned,
//   - undoes every write that has no effect (Report says which are mistakes).
//
// A callback that panics has no effect at all, and the panic becomes a PanicError.
//
// # Server and client
//
// On the server every write of a rule stays. A client keeps what rules do to the entities that it
// predicts (LoadSet): its avatar, and what it runs ahead. All others are copies of their newest
// records (PutKnown): a rule may write to them, but the write is undone, and a despawn hides them
// until the server confirms or contradicts it (Unhide).
//
// # Randomness
//
// World.Rand is a hash of a seed, the tick, the actor and the callback. Act and Step use a seed
// that clients receive, so that a prediction draws the same numbers as the server. Join, Referee
// and handlers use a secret.
//
// # Judging predictions
//
// A client can foresee neither other players nor the referee. Four ticks for each avatar say what
// else was going on: LastExternalChange (something other than its own command and Step changed it),
// LastStepChange (Step changed it, and so may have passed on what another player did),
// LastSideEffect (its own command tried to change something else) and LastPredictedDespawn (its
// predicted command removed something that another player may take first).
package engine
