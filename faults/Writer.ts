// Writes without a pause and records what was acknowledged. Each lane writes sequentially: it creates a relayer, may rename it, and may
// delete it.
import { Effect } from "effect"
import type { Scope } from "effect"
import type { Outcome } from "./Requests.ts"
import * as Requests from "./Requests.ts"

/** The name of a relayer. `undefined`: it does not exist. */
type State = string | undefined

/** The states that each id may have: the acknowledged one, and that of the last request without a response. */
export class Ledger {
  readonly relayers = new Map<string, { readonly acknowledged: State; readonly unsure?: { readonly state: State } }>()
  readonly signers = new Set<string>()
  readonly outcomes: Array<Outcome> = []
  acknowledged = 0

  /** Lost or wrong states, which no sequence of the requests can explain. */
  mistakes(names: ReadonlyMap<string, string>, signers: ReadonlySet<string>): Array<string> {
    const wrong: Array<string> = []
    for (const [id, { acknowledged, unsure }] of this.relayers) {
      const found = names.get(id)
      if (found !== acknowledged && !(unsure !== undefined && found === unsure.state)) {
        wrong.push(`relayer ${id} is ${found ?? "absent"}, but ${acknowledged ?? "its absence"} was acknowledged`)
      }
    }
    for (const id of this.signers) if (!signers.has(id)) wrong.push(`signer ${id} is lost`)
    return wrong
  }
}

export interface Options {
  readonly baseUrl: () => string
  readonly lanes: number
  /** The prefix of every id. Writers on one database need different prefixes. */
  readonly prefix: string
  readonly ledger: Ledger
}

const pause = () => new Promise((resolve) => setTimeout(resolve, 20))

const lane = async ({ baseUrl, prefix, ledger }: Options, number: number, isOver: () => boolean): Promise<void> => {
  const call = async (path: string, sent: Requests.Sent): Promise<boolean> => {
    const outcome = await Requests.send(`${baseUrl()}/api/v1/${path}`, sent)
    ledger.outcomes.push(outcome)
    const good = outcome.status === 200 || outcome.status === 201
    if (good) ledger.acknowledged += 1
    else await pause()
    return good
  }
  const change = async (id: string, state: State, path: string, sent: Requests.Sent): Promise<boolean> => {
    const acknowledged = ledger.relayers.get(id)?.acknowledged
    ledger.relayers.set(id, { acknowledged, unsure: { state } })
    const good = await call(path, sent)
    if (good) ledger.relayers.set(id, { acknowledged: state })
    return good
  }
  for (let n = 0; !isOver(); n++) {
    const id = `${prefix}-${number}-${n}`
    if (!(await call("signers", { body: { id, type: "plain" } }))) continue
    ledger.signers.add(id)
    const relayer = { id, name: "created", network: "sepolia", network_type: "evm", paused: false, signer_id: id }
    if (isOver() || !(await change(id, "created", "relayers", { body: relayer }))) continue
    if (n % 2 === 0 || isOver()) continue
    const renamed = { method: "PATCH", body: { name: "renamed" } }
    if (!(await change(id, "renamed", `relayers/${id}`, renamed))) continue
    if (n % 4 === 1 && !isOver()) await change(id, undefined, `relayers/${id}`, { method: "DELETE" })
  }
}

/** Writes until `stop` is run or the scope closes, and then waits for the last responses. */
export const start = (options: Options): Effect.Effect<{ readonly stop: Effect.Effect<void> }, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      let over = false
      const lanes = Array.from({ length: options.lanes }, (_, number) => lane(options, number, () => over))
      const stop = Effect.promise(() => {
        over = true
        return Promise.all(lanes)
      })
      return { stop: Effect.asVoid(stop) }
    }),
    ({ stop }) => stop
  )
