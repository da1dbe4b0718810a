/** The page's state as the end of its address: only what differs from the beginning, so that a link can be read. */
import { changed, INITIAL, KNOB_NAMES, KNOBS, type Knob, type KnobName, type Settings } from './settings.ts'

export const LANGUAGES = ['en', 'ja'] as const

export type Language = (typeof LANGUAGES)[number]

/** What a link says. Without a language it is the reader's own. */
export interface Link {
	readonly settings: Settings
	readonly language: Language | undefined
}

export function toHash({ settings, language }: Link): string {
	const parts = KNOB_NAMES.filter((name) => settings[name] !== INITIAL[name]).map(
		(name) => `${name}=${textOf(settings[name])}`,
	)
	return [...parts, ...(language ? [`language=${language}`] : [])].join('&')
}

const textOf = (value: number | string | boolean): string => (value === Infinity ? 'none' : String(value))

/** What can not be understood in a link is left at its beginning: an old link must still open. */
export function fromHash(hash: string): Link {
	const given = new URLSearchParams(hash.replace(/^#/, ''))
	const found: Partial<Record<KnobName, unknown>> = {}
	for (const name of KNOB_NAMES) {
		const value = read(KNOBS[name], given.get(name))
		if (value !== undefined) found[name] = value
	}
	return {
		// Each value was found among those that its knob has.
		settings: changed(INITIAL, found as Partial<Settings>),
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

/** Whole, and as many as one can type. */
export const isSeed = (value: number): boolean => Number.isSafeInteger(value) && value >= 0
