/** The state of the page in the hash of its URL: only what differs from the initial state, so that links stay readable. */
import {
	changeSettings,
	INITIAL,
	KNOB_NAMES,
	KNOBS,
	type Knob,
	type KnobName,
	type Settings,
} from './settings.ts'

export const LANGUAGES = ['en', 'ja'] as const

export type Language = (typeof LANGUAGES)[number]

/** The state in a link. Without a language, the page uses the language of the browser. */
export interface Link {
	readonly settings: Settings
	readonly language: Language | undefined
}

export function toHash({ settings, language }: Link): string {
	const parts = KNOB_NAMES.filter((name) => settings[name] !== INITIAL[name]).map(
		(name) => `${name}=${formatSetting(settings[name])}`,
	)
	return [...parts, ...(language ? [`language=${language}`] : [])].join('&')
}

const formatSetting = (value: number | string | boolean): string =>
	value === Infinity ? 'none' : String(value)

/** Parses a hash. Unknown names and values are ignored, so that old links still open. */
export function fromHash(hash: string): Link {
	const given = new URLSearchParams(hash.replace(/^#/, ''))
	const found: Partial<Record<KnobName, unknown>> = {}
	for (const name of KNOB_NAMES) {
		const value = read(KNOBS[name], given.get(name))
		if (value !== undefined) found[name] = value
	}
	return {
		// `read` returns only values that the knob allows.
		settings: changeSettings(INITIAL, found as Partial<Settings>),
		language: LANGUAGES.find((language) => language === given.get('language')),
	}
}

function read(knob: Knob, text: string | null): number | string | boolean | undefined {
	if (text === null || text === '') return undefined
	if (knob.kind === 'choice') return knob.options.find((option) => option === text)
	if (knob.kind === 'switch') return text === 'true'
	const number = text === 'none' ? Infinity : Number(text)
	if (knob.kind === 'slider') return knob.values.find((value) => value === number)
	return isSeed(number) ? number : undefined
}

/** Returns whether the value is a non-negative safe integer. */
export const isSeed = (value: number): boolean => Number.isSafeInteger(value) && value >= 0
