// How many transactions of a lane may be in flight: less if nodes refuse more, up to the network's setting.

/** After a node has refused a transaction because the account has too many. */
export const halved = (size: number): number => Math.max(Math.floor(size / 2), 1)

/** After `blocks` in each of which a transaction of the lane was mined. */
export const grown = (size: number, blocks: number, limit: number): number => Math.min(size + blocks, limit)
