/**
 * The part of the Standard Schema interface (version 1) that is used here; Zod, Valibot, ArkType and others
 * implement it. A structural type, because types do not justify a dependency.
 */
export interface StandardSchema<Input = unknown, Output = Input> {
	readonly '~standard': {
		readonly version: 1
		readonly vendor: string
		readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>
		readonly types?: { readonly input: Input; readonly output: Output } | undefined
	}
}

export type SchemaResult<Output> =
	| { readonly value: Output; readonly issues?: undefined }
	| { readonly issues: readonly SchemaIssue[] }

export interface SchemaIssue {
	readonly message: string
	readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}
