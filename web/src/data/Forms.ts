// The forms by the names of their schemas. The build replaces this module with what scripts/console/Forms.ts derives from openapi.json.
import type { Form } from "./FormFields.ts"

export const forms: Readonly<Record<string, Form>> = {}
