// The protocol of stellar networks: which one this version of the service knows, and what is said of a newer one.
import type { ProviderReading } from "./ChainSnapshot.ts"

/**
 * The newest protocol whose envelopes, operations, authorizations and results this version reads: that of the definitions in
 * @stellar/stellar-sdk 17.2.0.
 */
export const knownProtocol = 28

/** The newest protocol that a provider names. Undefined: none names one. */
export const protocolOf = (readings: ReadonlyArray<Pick<ProviderReading, "protocol_version">>): number | undefined => {
  const versions = readings.flatMap(({ protocol_version }) => protocol_version ?? [])
  return versions.length === 0 ? undefined : Math.max(...versions)
}

/** The warning about a protocol. Undefined: this version knows it, or it was not read. */
export const protocolWarning = (version: number | undefined): string | undefined =>
  version === undefined || version <= knownProtocol
    ? undefined
    : `The network runs protocol ${version}, and this version of the service knows protocol ${knownProtocol}. Until the service is updated, it refuses operations, kinds of envelopes, authorizations, preconditions and addresses that a later protocol has added, and calls whose simulation has a part that it cannot read.`
