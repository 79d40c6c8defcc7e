// The session of this browser. Its cookie is out of reach of scripts; the page holds the other half, the proof.
import { Effect, Layer, Redacted } from "effect"
import { FetchHttpClient } from "effect/http"
import { HttpApiClient } from "effect/http-api"
import { Atom } from "effect/reactivity"
import { ConsoleApi } from "../../../src/api/ConsoleApi.ts"
import { allows } from "../../../src/domain/access/ApiKey.ts"
import type { Scope } from "../../../src/domain/access/ApiKey.ts"
import type { CurrentSession } from "../../../src/domain/access/Caller.ts"
import { noting, transformed, unauthorized, withoutKey } from "./Client.ts"
import { connection, isLost } from "./Connection.ts"
import { dropProof, findProof, keepProof, proof, shareProof } from "./Proof.ts"
import { act, query, registry } from "./Registry.ts"
import type { Outcome } from "./Registry.ts"
import { pause, pauseAfter } from "./Retry.ts"

/** `unknown` until the service has answered. `ended` keeps the page, so that a form that is not sent survives. */
export type SessionState =
  | { readonly kind: "unknown" }
  | { readonly kind: "out" }
  | { readonly kind: "in"; readonly session: CurrentSession }
  | { readonly kind: "ended"; readonly session: CurrentSession }

export const sessionState = Atom.keepAlive(Atom.make<SessionState>({ kind: "unknown" }))

const sessions = Effect.runSync(
  HttpApiClient.make(ConsoleApi, { baseUrl: `${location.origin}/console`, transformClient: transformed }).pipe(
    Effect.provide(Layer.merge(withoutKey, FetchHttpClient.layer))
  )
)

const set = (state: SessionState) => registry.set(sessionState, state)

const end = () => {
  const present = registry.get(sessionState)
  dropProof(false)
  set(present.kind === "in" ? { ...present, kind: "ended" } : present.kind === "ended" ? present : { kind: "out" })
}

const current = Effect.map(
  noting(Effect.suspend(() => sessions.sessions.current())),
  ({ data }): CurrentSession => data
)

/** A new tab takes the proof of an open one. A failure without a response leaves the state, so that the page says so. */
const findSession = async (): Promise<void> => {
  const asked = await findProof()
  if (asked === undefined) return set({ kind: "out" })
  const outcome = await act(current)
  if (outcome.ok) set({ kind: "in", session: outcome.value })
  else if (outcome.failure.status !== 0 && proof() === asked) end()
}

let isProbing = false

/** While the service cannot be reached, asks for the session until it answers: then pages ask again for what has failed. */
const probe = async (): Promise<void> => {
  if (isProbing) return
  isProbing = true
  for (let failures = 0; isLost(); failures += 1) {
    await Effect.runPromise(pause(pauseAfter(failures)))
    if (isLost()) await findSession()
  }
  isProbing = false
}

/** Exchanges the key for a session, and forgets it. */
export const signIn = async (key: string, isReadOnly: boolean): Promise<Outcome<unknown>> => {
  const payload = { key: Redacted.make(key), read_only: isReadOnly }
  const outcome = await act(noting(Effect.suspend(() => sessions.signIn.create({ payload }))))
  if (!outcome.ok) return outcome
  const { proof: half, ...session } = outcome.value.data
  keepProof(Redacted.value(half))
  set({ kind: "in", session })
  return outcome
}

export const signOut = async (): Promise<void> => {
  await act(noting(Effect.suspend(() => sessions.sessions.signOut())))
  dropProof(true)
  set({ kind: "out" })
}

export const sessionList = query(Effect.map(noting(Effect.suspend(() => sessions.sessions.list())), ({ data }) => data))

export const endSession = (id: string) =>
  noting(Effect.suspend(() => sessions.sessions.end({ params: { session_id: id } })))

/** What the session may do now, for what a page offers. The service decides again at each request. */
export const may = (state: SessionState, scope: Scope): boolean =>
  (state.kind === "in" || state.kind === "ended") && allows(state.session.scopes, scope)

/** Whether the key limits what its transactions may send: then the service refuses it changes of policies, RPC URLs and networks. */
export const isLimited = (state: SessionState): boolean =>
  (state.kind === "in" || state.kind === "ended") && state.session.has_transaction_limits === true

/** Whether it may change what an account delegates to, which may be that of several relayers. */
export const mayDelegate = (state: SessionState): boolean =>
  may(state, "relayers:write") &&
  !isLimited(state) &&
  (state.kind === "in" || state.kind === "ended") &&
  state.session.relayer_ids === undefined

export const isReadOnly = (state: SessionState): boolean =>
  (state.kind === "in" || state.kind === "ended") && state.session.read_only

/** Called once, when the page starts. */
export const watchSession = (): void => {
  registry.subscribe(unauthorized, (count) => {
    if (count > 0) end()
  })
  registry.subscribe(connection, ({ lostAt }) => {
    if (lostAt !== undefined) void probe()
  })
  shareProof((given) => (given === undefined ? set({ kind: "out" }) : void findSession()))
  void findSession()
}
