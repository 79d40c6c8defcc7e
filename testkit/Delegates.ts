// Contracts that accounts are delegated to (EIP-7702) on a local chain.
import { Effect } from "effect"
import { until } from "./process/Folder.ts"

interface Node {
  call(method: string, params: ReadonlyArray<unknown>): Effect.Effect<unknown>
}

/** Creations of contracts. */
export const delegates = {
  /** Stores the first word of its data at slot 0: CALLDATALOAD, SSTORE. */
  storing: "0x6005600c60003960056000f35f355f5500",
  /** Reverts without a reason. */
  reverting: "0x6005600c60003960056000f360006000fd"
} as const

export const word = (value: number): string => `0x${value.toString(16).padStart(64, "0")}`

/** The address of a new contract, in lower case. `from`: an unlocked account with funds. */
export const deploy = Effect.fnUntraced(function* (node: Node, from: string, code: string) {
  const hash = yield* node.call("eth_sendTransaction", [{ from, data: code, gas: "0x30d40" }])
  const receipt = yield* until(
    "a contract",
    Effect.map(node.call("eth_getTransactionReceipt", [hash]), (found) => (found === null ? undefined : found))
  )
  return String(Reflect.get(Object(receipt), "contractAddress")).toLowerCase()
})
