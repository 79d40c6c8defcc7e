// What the account of an evm relayer delegates to, and its changes.
import { Effect } from "effect"
import type { Delegation } from "../../../src/client/Client.ts"
import { RelayerId } from "../../../src/domain/relayer/Relayer.ts"
import { Delegate } from "../../../src/networks/evm/rules/DelegationSchemas.ts"
import { call, callById, once } from "./Client.ts"
import { bodyReader } from "./Pages.ts"
import { queries } from "./Registry.ts"

export type { Delegation }

const params = (id: string) => ({ relayer_id: RelayerId.make(id) })

/** What the service has recorded. No provider is asked. */
export const delegationOf = queries((id) =>
  callById(({ delegations }) => Effect.map(delegations.get({ params: params(id) }), ({ data }) => data))
)

const readDelegate = bodyReader(Delegate)

/** Reads a body as the service does. Nothing is changed. */
export const checkDelegate = (body: unknown) => call(() => readDelegate(body))

/** The contract is checked first. `key` is the same for each try of one form. */
export const delegate = (id: string, body: unknown, key: string) =>
  once(
    key,
    call(({ delegations }) =>
      Effect.flatMap(readDelegate(body), (payload) =>
        Effect.map(delegations.delegate({ params: params(id), payload }), ({ data }) => data)
      )
    )
  )

export const undelegate = (id: string) =>
  call(({ delegations }) => Effect.map(delegations.undelegate({ params: params(id) }), ({ data }) => data))
