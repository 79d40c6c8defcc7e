// Requests with authorizations, and the transactions that carry them, for tests of rules.
import type { SignedAuthorization } from "../../../../src/networks/evm/rules/Authorizations.ts"
import type { Request } from "../../../../src/networks/evm/rules/Evm.ts"
import { request, submitted, terms } from "./Fixtures.ts"

export const delegate = "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed"
export const authority = `0x${"a1".repeat(20)}`
export const other = `0x${"b2".repeat(20)}`

export const entryOf = (over: Partial<SignedAuthorization> = {}): SignedAuthorization => ({
  chainId: 31_337,
  address: delegate,
  nonce: 3,
  yParity: 0,
  r: `0x${"1".repeat(64)}`,
  s: `0x${"2".repeat(64)}`,
  authority,
  ...over
})

export const on = (over: Parameters<typeof terms>[0] = {}) => terms({ delegates: [delegate], ...over })

export const listed = request({ to: authority, gas_limit: 100_000n, authorization_list: [entryOf()] })

export const replacedBy = (...versions: ReadonlyArray<Request>) => submitted({ versions: [request(), ...versions] })

export const carrying = (over: Parameters<typeof submitted>[0] = {}) => submitted({ versions: [listed], ...over })
