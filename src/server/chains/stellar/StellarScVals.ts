// Values of contracts, between XDR and the form of the API.
import type { xdr as Xdr } from "@stellar/stellar-sdk/base"
import type { ScVal } from "../../../domain/transaction/stellar/ScVal.ts"
import type { Library } from "./StellarLibrary.ts"

/** `G…`, `M…`, `C…`, `B…` or `L…`. */
export const addressOf = (lib: Library, address: Xdr.ScAddress): string => lib.Address.fromScAddress(address).toString()

const all = <A>(values: ReadonlyArray<A | undefined>): ReadonlyArray<A> | undefined =>
  values.every((value) => value !== undefined) ? values : undefined

/** Undefined: a value that only contracts have, such as their instance. */
export const fromXdr = (lib: Library, value: Xdr.ScVal): ScVal | undefined => {
  switch (value.type) {
    case "scvBool":
      return { bool: value.b }
    case "scvVoid":
      return { void: null }
    case "scvU32":
      return { u32: value.u32 }
    case "scvI32":
      return { i32: value.i32 }
    case "scvU64":
      return { u64: value.u64 }
    case "scvI64":
      return { i64: value.i64 }
    case "scvTimepoint":
      return { timepoint: value.timepoint }
    case "scvDuration":
      return { duration: value.duration }
    case "scvU128":
      return { u128: { hi: value.u128.hi, lo: value.u128.lo } }
    case "scvI128":
      return { i128: { hi: value.i128.hi, lo: value.i128.lo } }
    case "scvU256": {
      const { hiHi, hiLo, loHi, loLo } = value.u256
      return { u256: { hi_hi: hiHi, hi_lo: hiLo, lo_hi: loHi, lo_lo: loLo } }
    }
    case "scvI256": {
      const { hiHi, hiLo, loHi, loLo } = value.i256
      return { i256: { hi_hi: hiHi, hi_lo: hiLo, lo_hi: loHi, lo_lo: loLo } }
    }
    case "scvBytes":
      return { bytes: Buffer.from(value.bytes.value).toString("hex") }
    case "scvString":
      return { string: value.str.toString() }
    case "scvSymbol":
      return { symbol: value.sym.toString() }
    case "scvAddress":
      return { address: addressOf(lib, value.address) }
    case "scvVec": {
      const vec = all((value.vec ?? []).map((one) => fromXdr(lib, one)))
      return vec && { vec }
    }
    case "scvMap": {
      const map = all(
        (value.map ?? []).map(({ key, val }) => {
          const [plainKey, plainVal] = [fromXdr(lib, key), fromXdr(lib, val)]
          return plainKey === undefined || plainVal === undefined ? undefined : { key: plainKey, val: plainVal }
        })
      )
      return map && { map }
    }
    default:
      return undefined
  }
}

export const toXdr = (lib: Library, value: ScVal): Xdr.ScVal => {
  const { ScVal: Value, Uint128Parts, Int128Parts, Uint256Parts, Int256Parts, ScMapEntry } = lib.xdr
  if ("bool" in value) return Value.scvBool(value.bool)
  if ("void" in value) return Value.scvVoid()
  if ("u32" in value) return Value.scvU32(value.u32)
  if ("i32" in value) return Value.scvI32(value.i32)
  if ("u64" in value) return Value.scvU64(value.u64)
  if ("i64" in value) return Value.scvI64(value.i64)
  if ("timepoint" in value) return Value.scvTimepoint(value.timepoint)
  if ("duration" in value) return Value.scvDuration(value.duration)
  if ("u128" in value) return Value.scvU128(new Uint128Parts(value.u128))
  if ("i128" in value) return Value.scvI128(new Int128Parts(value.i128))
  if ("u256" in value) {
    const { hi_hi: hiHi, hi_lo: hiLo, lo_hi: loHi, lo_lo: loLo } = value.u256
    return Value.scvU256(new Uint256Parts({ hiHi, hiLo, loHi, loLo }))
  }
  if ("i256" in value) {
    const { hi_hi: hiHi, hi_lo: hiLo, lo_hi: loHi, lo_lo: loLo } = value.i256
    return Value.scvI256(new Int256Parts({ hiHi, hiLo, loHi, loLo }))
  }
  if ("bytes" in value) return Value.scvBytes(Buffer.from(value.bytes, "hex"))
  if ("string" in value) return Value.scvString(value.string)
  if ("symbol" in value) return Value.scvSymbol(value.symbol)
  if ("address" in value) return lib.Address.fromString(value.address).toScVal()
  if ("vec" in value) return Value.scvVec(value.vec.map((one) => toXdr(lib, one)))
  return Value.scvMap(value.map.map(({ key, val }) => new ScMapEntry({ key: toXdr(lib, key), val: toXdr(lib, val) })))
}
