// The addresses of a key: one for each network type that its curves serve.
import { Schema } from "effect"
import { EvmAddress, SolanaAddress, StellarAddress } from "../chain/Address.ts"
import { field } from "../request/Field.ts"

const evm = field(EvmAddress, "Hex in lower case.", "0x2c7536e3605d9c16a7a3d7b1898e529396a65c23")
const solana = field(SolanaAddress, "Base58.", "7EcDhSYGxXyscszYEp35KHN8vvw3svAuLKTzXwCFLtV")
const stellar = field(StellarAddress, "StrKey.", "GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ")

/** Addresses of a key that signs on both curves. */
export const SignerAddresses = Schema.Struct({ evm, solana, stellar }).annotate({
  identifier: "SignerAddresses",
  description: "The address of the key on each network type."
})
export type SignerAddresses = typeof SignerAddresses.Type

const Secp256k1Addresses = Schema.Struct({ evm }).annotate({
  identifier: "Secp256k1SignerAddresses",
  description: "The address of the key on each network type of its curve."
})

export const Ed25519Addresses = Schema.Struct({ solana, stellar }).annotate({
  identifier: "Ed25519SignerAddresses",
  description: "The address of the key on each network type of its curve."
})

/** Addresses of a key whose curve is known when the signer is created. */
export const AddressesOfCurve = Schema.Union([Secp256k1Addresses, Ed25519Addresses]).annotate({
  identifier: "SignerAddressesOfCurve",
  description: "The addresses of the key on the network types of its curve."
})
