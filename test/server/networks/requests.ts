// Networks as the API shows them.
import type * as TestApi from "../../../testkit/TestApi.ts"

export const networks = "/api/v1/networks"

export interface Shown {
  readonly id: string
  readonly source: string
  readonly [field: string]: unknown
}

export const data = ({ json }: TestApi.Answer) => json.data as Shown
