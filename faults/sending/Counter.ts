// A contract that counts effects: each call adds one to the storage slot that its data names.
import { Effect } from "effect"

const address = `0x${"c0".repeat(20)}`

/** PUSH0 CALLDATALOAD DUP1 SLOAD PUSH1 1 ADD SWAP1 SSTORE STOP. */
const code = "0x5f358054600101905500"

/** Above what a call uses that writes an empty slot: 21,000 + 512 for its data + 22,100. */
const gasLimit = 60_000

/** Slots that are read at the same time. */
const concurrency = 8

const word = (slot: number): string => `0x${slot.toString(16).padStart(64, "0")}`

interface Calls {
  readonly call: (method: string, params: ReadonlyArray<unknown>) => Effect.Effect<unknown>
}

export const install = ({ call }: Calls) => call("anvil_setCode", [address, code])

/** The request of a transaction that counts in `slot`. Every fourth one has its gas estimated. */
export const requestOf = (slot: number) => ({
  to: address,
  data: word(slot),
  ...(slot % 4 === 0 ? {} : { gas_limit: gasLimit })
})

/** How often each of the slots was counted. */
export const read = ({ call }: Calls, slots: ReadonlyArray<number>) =>
  Effect.forEach(slots, (slot) => Effect.map(call("eth_getStorageAt", [address, word(slot), "latest"]), Number), {
    concurrency
  })
