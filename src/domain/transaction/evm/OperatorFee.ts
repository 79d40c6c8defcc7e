// What the operator of an OP-stack chain charges besides gas and data since the upgrade Isthmus: a constant, and a share per gas.
// The formulas are in specs.optimism.io (Isthmus and Jovian, "Operator Fee"): `gas × scalar / 10^6 + constant` since Isthmus,
// `gas × scalar × 100 + constant` since Jovian. A signed transaction has to be able to pay it for its gas limit; a mined one has
// paid it for the gas that it used.

/** Wei. */
export interface OperatorFee {
  readonly constant: bigint
  readonly perMillionGas: bigint
}

/** Gas to which `perMillionGas` applies. */
export const million = 1_000_000n

/** The range of `operatorFeeConstant`, a uint64, and of `operatorFeeScalar`, a uint32. */
const maxConstant = 2n ** 64n - 1n
const maxScalar = 2n ** 32n - 1n

/** Jovian multiplies the scalar by 100 instead of dividing it by a million. */
const jovianFactor = 100n * million

/** Wei for an amount of gas. */
export const operatorFeeAt = ({ constant, perMillionGas }: OperatorFee, gas: bigint): bigint =>
  constant + (gas * perMillionGas) / million

/** From the chain's answers for no gas and for a million gas. Undefined: no chain charges this, so the answers are wrong. */
export const fromSamples = (forNone: bigint, forMillion: bigint): OperatorFee | undefined => {
  const perMillionGas = forMillion - forNone
  const isPossible = forNone <= maxConstant && perMillionGas >= 0n && perMillionGas <= maxScalar * jovianFactor
  return isPossible ? { constant: forNone, perMillionGas } : undefined
}

/** The parameters of a block, as its receipts show them. */
export interface Parameters {
  readonly scalar: bigint
  readonly constant: bigint
  readonly isJovian: boolean
}

/** Undefined: no chain has such parameters. */
export const fromParameters = ({ scalar, constant, isJovian }: Parameters): OperatorFee | undefined =>
  scalar <= maxScalar && constant <= maxConstant
    ? { constant, perMillionGas: isJovian ? scalar * jovianFactor : scalar }
    : undefined
