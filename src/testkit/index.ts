// What tests of host programs import: a relayer over a chain that fails on command, and scenarios.
export * as Arbitraries from "./Arbitraries.ts"
export { AnswerLost } from "./Sends.ts"
export { EventFeed, Networks, Relayers, Signers, Transactions } from "./Tags.ts"
export type { EvmTestNetwork, SolanaTestNetwork, StellarTestNetwork, TestNetwork } from "./KitNetwork.ts"
export { NotReached, TestChain } from "./TestChain.ts"
export type { EvmOptions, SolanaOptions, StellarOptions } from "./TestChain.ts"
export { TestRelayer } from "./TestRelayer.ts"
export * as Scenario from "./Scenario.ts"
