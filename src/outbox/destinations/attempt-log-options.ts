/** The options of an attempt log: validation and defaults. */
import { withOptionPath } from '../../core/options/option-path.ts'
import { checkNames, invalidOption, type OptionSchema, readOptions } from '../../core/options/schema.ts'

/**
 * What the attempt log stores of each call of a handler, and for how long. It is the option `attemptLog` of a
 * relay or a destination.
 */
export interface AttemptLogOptions {
	/** How long records are kept, in milliseconds. `Infinity` keeps them permanently. Default 604,800,000 (7 days). */
	readonly keepForMs?: number | undefined
	/** How many characters of a response are stored, at most 100,000. 0 stores none. Default 1,000. */
	readonly maxResponseChars?: number | undefined
	/**
	 * Replaces the excerpt of a response before it is stored. A secret may be cut off at its end. If it throws,
	 * no excerpt is stored. Default: the excerpt is stored as it is.
	 */
	readonly redact?: ((response: string) => string) | undefined
}

export interface AttemptLogSettings {
	readonly keepForMs: number
	readonly maxResponseChars: number
	readonly redact?: ((response: string) => string) | undefined
}

const WEEK_MS = 604_800_000

const SCHEMA: OptionSchema = {
	keepForMs: [1, Infinity, WEEK_MS],
	maxResponseChars: [0, 100_000, 1_000, 'integer'],
	redact: 'function',
}

export function readAttemptLog(
	path: string,
	given: AttemptLogOptions | boolean | undefined,
): AttemptLogSettings | undefined {
	if (given === undefined || given === false) return undefined
	const options = given === true ? {} : given
	if (Object(options) !== options)
		invalidOption(path, given, 'true, false or { keepForMs, maxResponseChars }')
	return withOptionPath(path, () => {
		checkNames(options, SCHEMA)
		return readOptions<AttemptLogSettings>(options, SCHEMA)
	})
}
