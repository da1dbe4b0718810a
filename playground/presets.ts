/** Instructive scenarios, each next to a variant with a remedy: selecting one after the other compares their figures. */
import { changeSettings, INITIAL, KNOB_NAMES, type Settings } from './settings.ts'

/** Timed-out calls are retried, and the retries alone exceed the capacity of the service. */
const METASTABLE: Partial<Settings> = {}

/** All clients call when the service goes down, and retry until it is back. */
const HERD: Partial<Settings> = {
	arrivals: 'simultaneous',
	clients: 1_000,
	goodWithinMs: Infinity,
	fault: 'refuse',
	faultSeconds: 30,
	retries: 15,
	baseDelayMs: 1_000,
	maxDelayMs: 10_000,
	timeoutMs: 2_000,
}

/** A shop where 30 % of the requests depend on a service that becomes slow. */
const SLOW: Partial<Settings> = {
	calledBy: 'shop',
	workers: 20,
	load: 0.6,
	goodWithinMs: 2_000,
	fault: 'slowdown',
	slowdown: 50,
	faultSeconds: 30,
	retries: 0,
	timeoutMs: Infinity,
}

/** 20 % of the responses fail for one minute. */
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

export const getPreset = (name: PresetName, seed: number = INITIAL.seed): Settings =>
	changeSettings(INITIAL, { ...CHANGES[name], seed })

/** Returns the preset that has these settings, regardless of the seed. */
export const findPreset = (settings: Settings): PresetName | undefined =>
	PRESET_NAMES.find((name) => {
		const preset = getPreset(name, settings.seed)
		return KNOB_NAMES.every((knob) => preset[knob] === settings[knob])
	})
