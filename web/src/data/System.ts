// The state of the instance that answers.
import { call } from "./Client.ts"
import { query } from "./Registry.ts"

export const readiness = query(call(({ system }) => system.ready()))
