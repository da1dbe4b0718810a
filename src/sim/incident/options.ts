import { invalidOption } from '../../core/options/schema.ts'
import { amount, count, fields, type Shape } from '../scenario/shape.ts'

/** How the events of an incident are read. */
export interface IncidentOptions {
	/** The name of the pipeline, where the events are of several. An empty text means those of no named pipeline. */
	readonly pipeline?: string | undefined
	/**
	 * Reads the events of this policy, or of these, and of no others. Needed where several retries, or several breakers without a retry, tell of
	 * calls: of policies inside each other name the outermost, of policies side by side those that are meant.
	 */
	readonly policy?: string | readonly string[] | undefined
	/**
	 * How many requests the service can work on at once, if that is known. Then answers that the load made slow are left to the replay,
	 * where another policy may mean another load. Default: no limit, and every slow answer is a fault.
	 */
	readonly workers?: number | undefined
	/** How finely faults are looked for. Default 1,000. */
	readonly resolutionMs?: number | undefined
}

const text: Shape = (value, path) => {
	if (typeof value !== 'string') invalidOption(path, value, 'a text')
}

const texts: Shape = (value, path) => {
	const isList = Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === 'string')
	if (typeof value !== 'string' && !isList) invalidOption(path, value, 'a name or a list of names')
}

const shape = fields({
	'pipeline?': text,
	'policy?': texts,
	'workers?': count(1),
	'resolutionMs?': amount(1),
})

/** The options with their defaults. */
export interface IncidentSettings {
	readonly pipeline: string | undefined
	readonly policies: ReadonlySet<string> | undefined
	readonly workers: number
	readonly resolutionMs: number
}

export function settingsOf(options: IncidentOptions): IncidentSettings {
	if (Object(options) !== options) invalidOption('options', options, 'an object')
	shape(options, '')
	const { pipeline, policy, workers = Infinity, resolutionMs = 1_000 } = options
	const policies = policy === undefined ? undefined : new Set(typeof policy === 'string' ? [policy] : policy)
	return { pipeline, policies, workers, resolutionMs }
}
