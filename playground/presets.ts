/** Situations worth seeing, each with a way out beside it: the two are one select apart, and the figures then compare them. */
import { changed, INITIAL, KNOB_NAMES, type Settings } from './settings.ts'

/** Calls that time out are made again, and the retries alone are more than the service can do. */
const METASTABLE: Partial<Settings> = {}

/** All clients call at the moment when the service goes down, and wait for it to come back. */
const HERD: Partial<Settings> = {
	arrivals: 'together',
	clients: 1_000,
	patienceMs: Infinity,
	fault: 'refuse',
	faultSeconds: 30,
	retries: 15,
	baseMs: 1_000,
	capMs: 10_000,
	timeoutMs: 2_000,
}

/** A shop of which three requests in ten need a service that has become slow. */
const SLOW: Partial<Settings> = {
	place: 'behind',
	workers: 20,
	load: 0.6,
	patienceMs: 2_000,
	fault: 'slowdown',
	slowdown: 50,
	faultSeconds: 30,
	retries: 0,
	timeoutMs: Infinity,
}

/** One answer in five is a failure, for a minute. */
const PARTIAL: Partial<Settings> = { load: 0.5, fault: 'errors', errorRate: 0.2, faultSeconds: 60 }

const CHANGES = {
	metastable: METASTABLE,
	metastableBudget: { ...METASTABLE, budget: 'ratio' },
	metastableLifo: { ...METASTABLE, queueOrder: 'lifo' },
	herd: { ...HERD, jitter: 'none' },
	herdJitter: { ...HERD, jitter: 'full' },
	slow: SLOW,
	slowBulkhead: { ...SLOW, bulkhead: 10, timeoutMs: 500, breaker: 'consecutive' },
	partial: { ...PARTIAL, retries: 0 },
	partialRetry: { ...PARTIAL, retries: 3 },
} as const satisfies Readonly<Record<string, Partial<Settings>>>

export type PresetName = keyof typeof CHANGES

export const PRESET_NAMES: readonly PresetName[] = Object.keys(CHANGES) as PresetName[]

/** All settings of a preset, at the seed that is set. */
export const presetOf = (name: PresetName, seed: number = INITIAL.seed): Settings =>
	changed(INITIAL, { ...CHANGES[name], seed })

/** Which preset this is, whatever the seed; undefined if it is none. */
export const presetLike = (settings: Settings): PresetName | undefined =>
	PRESET_NAMES.find((name) => {
		const preset = presetOf(name, settings.seed)
		return KNOB_NAMES.every((knob) => preset[knob] === settings[knob])
	})
