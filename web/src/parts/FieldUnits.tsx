// What every input of a form's field gets, its id, and the choice of the unit in which its amount is entered.
import type { Unit } from "../data/Amounts.ts"
import { decimalsOf, unitKey } from "../data/FormFields.ts"
import type { Entered, FormField, Problem, Problems } from "../data/FormFields.ts"
import { words } from "../words.ts"

interface Maker {
  readonly href: string
  readonly label: string
}

export interface InputProps {
  readonly field: FormField
  readonly problem: Problem | string | undefined
  /** Problems of its parts, by their paths below the field. */
  readonly parts: Problems
  readonly entered: Entered
  readonly native: Unit
  /** Values to choose from instead of typing, such as the networks that exist. */
  readonly known?: Readonly<Record<string, ReadonlyArray<string>>>
  /** Pages that create a value which is not there to choose. */
  readonly makers?: Readonly<Record<string, Maker>>
  readonly set: (name: string, value: string) => void
}

export const idOf = (name: string) => `field-${name}`

const unitsOf = (field: FormField, native: Unit): ReadonlyArray<readonly [decimals: number, symbol: string]> => {
  if (field.unit === undefined) return []
  if (native.decimals === 18 || field.unit === "price") {
    const whole = field.unit === "native" ? [[native.decimals, native.symbol] as const] : []
    return [...whole, [9, "gwei"], [0, "wei"]]
  }
  return native.decimals === 0
    ? []
    : [
        [native.decimals, native.symbol],
        [0, native.smallest]
      ]
}

export const Units = ({ field, entered, native, set }: InputProps) => {
  const units = unitsOf(field, native)
  if (units.length === 0) return null
  return (
    <select
      aria-label={words.form.unit}
      value={String(decimalsOf(field, entered, native))}
      onChange={({ currentTarget }) => set(unitKey(field.name), currentTarget.value)}
    >
      {units.map(([decimals, symbol]) => (
        <option key={symbol} value={String(decimals)}>
          {symbol}
        </option>
      ))}
    </select>
  )
}
