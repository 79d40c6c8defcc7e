// What needs the attention of an operator, as the service orders it.
import { Effect } from "effect"
import type { AttentionItem } from "../../../src/client/Client.ts"
import { call } from "./Client.ts"
import { query } from "./Registry.ts"

export type { AttentionItem }

export const attention = query(call(({ attention }) => Effect.map(attention.list(), ({ data }) => data)))
