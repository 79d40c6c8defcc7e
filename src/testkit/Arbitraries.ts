// Arbitrary requests and responses, for property tests of what programs send and read.
import { Arbitrary } from "effect"
import { Event } from "../domain/event/Event.ts"
import { CreateNetwork, Network } from "../domain/network/Network.ts"
import { CreateRelayer, Relayer, UpdateRelayer } from "../domain/relayer/Relayer.ts"
import { CreateSigner } from "../domain/signer/CreateSigner.ts"
import { Signer } from "../domain/signer/Signer.ts"
import { EvmTransaction, ReplaceEvmTransaction, SendEvmTransaction } from "../networks/evm/rules/EvmSchemas.ts"

// Requests, of which all fields are valid, and which the service may refuse for what they say together.

export const sendEvmTransaction = Arbitrary.schema(SendEvmTransaction)
export const replaceEvmTransaction = Arbitrary.schema(ReplaceEvmTransaction)
export const createRelayer = Arbitrary.schema(CreateRelayer)
export const updateRelayer = Arbitrary.schema(UpdateRelayer)
export const createSigner = Arbitrary.schema(CreateSigner)
export const createNetwork = Arbitrary.schema(CreateNetwork)

// Responses.

export const evmTransaction = Arbitrary.schema(EvmTransaction)
export const relayer = Arbitrary.schema(Relayer)
export const signer = Arbitrary.schema(Signer)
export const network = Arbitrary.schema(Network)
export const event = Arbitrary.schema(Event)

// Of the other network types, which are loaded when a test asks for them.

/** `sendSolanaTransaction`, `replaceSolanaTransaction` and `solanaTransaction`. */
export const loadSolana = () => import("./solana/Arbitraries.ts")

/** `sendStellarTransaction`, `replaceStellarTransaction` and `stellarTransaction`. */
export const loadStellar = () => import("./stellar/Arbitraries.ts")
