// Conditions of requests on the version of a resource.
import { Schema } from "effect"
import { field } from "../domain/request/Field.ts"

export const ifMatch = Schema.Struct({
  "if-match": Schema.optionalKey(
    field(
      Schema.String,
      "Entity tags, one of which must be the current one, or `*`. Otherwise the response is 412.",
      '"12.3"'
    )
  )
})
