// What most cases of sending begin with: a node, a service, and four relayers with funds.
import { Effect } from "effect"
import type { Random } from "../Random.ts"
import * as World from "../World.ts"
import * as Load from "./Load.ts"
import * as Node from "./Node.ts"
import * as Relayers from "./Relayers.ts"

interface Given {
  /** Settings of the service that differ. */
  readonly env?: Readonly<Record<string, string>>
  /** Fields of the network that differ. */
  readonly network?: object
  readonly policies?: object
}

export const open = Effect.fnUntraced(function* ({ env, ...given }: Given = {}) {
  const world = yield* World.make
  const node = yield* Node.start
  const service = yield* world.listen({ ...Relayers.env, ...env })
  const relayers = yield* Relayers.make(service, node, { count: 4, ...given })
  /** Sends through the relayers until `stop`. */
  const send = (random: Random) => Load.start({ urls: () => [service.baseUrl], relayers, random })
  return { node, service, relayers, send }
})
