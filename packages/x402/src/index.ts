// A facilitator of x402 that settles through relayers of effect-relayer.
export { createFacilitator } from "./Facilitator.ts"
export type { Facilitator, Options, Seller, Settlement } from "./Facilitator.ts"
export { createHandler, createListener } from "./Handler.ts"
export type { Method, OfferedNetwork, Token } from "./Payment.ts"
export { RelayersError } from "./Relayers.ts"
export type { Call, ClaimState, Relayer, Relayers, Row } from "./Relayers.ts"
export type { Clock } from "./Settlement.ts"
export type * from "./X402.ts"
