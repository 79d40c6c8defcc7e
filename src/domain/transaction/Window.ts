// How many transactions of a lane may be in flight: less if nodes refuse more, up to the network's setting.
import type { NetworkNumbers } from "./NetworkNumbers.ts"
import { windowOfDelegated } from "./Numbers.ts"

/** Code of an account with an EIP-7702 delegation begins with this. */
const delegation = "0xef0100"

/** `code`: of the account itself, `0x` if it has none. */
export const limitOf = ({ window }: Pick<NetworkNumbers, "window">, code: string): number =>
  code.toLowerCase().startsWith(delegation) ? windowOfDelegated : window

/** After a node has refused a transaction because the account has too many. */
export const halved = (size: number): number => Math.max(Math.floor(size / 2), 1)

/** After `blocks` in each of which a transaction of the lane was mined. */
export const grown = (size: number, blocks: number, limit: number): number => Math.min(size + blocks, limit)
