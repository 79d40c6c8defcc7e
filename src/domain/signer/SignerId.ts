// The id and the type of a signer.
import { Schema } from "effect"
import { field } from "../request/Field.ts"
import { resourceId } from "../request/Text.ts"

export const SignerId = resourceId
  .annotate({ description: "Identifier of the signer.", examples: ["hot-1"] })
  .pipe(Schema.brand("SignerId"))
export type SignerId = typeof SignerId.Type

export const typeTag = <const T extends string>(type: T) => field(Schema.tag(type), "Where the key is stored.", type)
