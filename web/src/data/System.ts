// The instances of the service, and the state of the one that answers.
import { Effect } from "effect"
import type { Instance } from "../../../src/client/Client.ts"
import { call } from "./Client.ts"
import { query } from "./Registry.ts"

export type { Instance }

export const readiness = query(call(({ system }) => system.ready()))

export const instanceList = query(call(({ instances }) => Effect.map(instances.list(), ({ data }) => data)))
