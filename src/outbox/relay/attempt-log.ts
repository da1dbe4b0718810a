/**
 * The options of an attempt log, and what it holds of a call of a handler until the call has a result. The
 * record is written by attempt-records.ts.
 */
import { withOptionPath } from '../../core/options/option-path.ts'
import { checkNames, invalidOption, type OptionSchema, readOptions } from '../../core/options/schema.ts'
import { AttemptRecorder } from '../destinations/attempt-recorder.ts'
import type { AttemptLogOptions } from '../destinations/destination.ts'
import { truncate } from '../message/stored-error.ts'

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

/** One call of a handler. */
export class AttemptLog {
	readonly recorder: AttemptRecorder
	readonly settings: AttemptLogSettings
	readonly startedAt: number

	constructor(settings: AttemptLogSettings, startedAt: number) {
		this.settings = settings
		this.startedAt = startedAt
		this.recorder = new AttemptRecorder(settings.maxResponseChars)
	}

	/**
	 * Returns the excerpt that is stored. If `redact` fails, nothing is stored: a bug in it must not reveal what
	 * it was meant to hide.
	 */
	excerpt(response: string): string | null {
		const { maxResponseChars, redact } = this.settings
		const excerpt = truncate(response, maxResponseChars)
		if (excerpt === '' || redact === undefined) return excerpt || null
		try {
			const redacted: unknown = redact(excerpt)
			return typeof redacted === 'string' ? truncate(redacted, maxResponseChars) || null : null
		} catch {
			return null
		}
	}
}
