/** What the reader has chosen, kept by the browser. */
import type { Language } from '../../src/dashboard/words/words.ts'

export interface Preferences {
	readonly language: Language
	readonly theme: 'auto' | 'light' | 'dark'
	readonly times: 'relative' | 'absolute'
	/** Shortcuts of one character can be in the way of speech input. */
	readonly shortcuts: 'on' | 'off'
}

const KEY = 'yaoki-dashboard'

const CHOICES: { readonly [Name in keyof Preferences]: readonly Preferences[Name][] } = {
	language: ['en', 'ja'],
	theme: ['auto', 'light', 'dark'],
	times: ['relative', 'absolute'],
	shortcuts: ['on', 'off'],
}

/** Returns the stored choices, as far as they are valid. `language` is the one of the browser, such as `ja-JP`. */
export function readPreferences(stored: string | null, language: string): Preferences {
	const found = parse(stored)
	const choose = <Name extends keyof Preferences>(
		name: Name,
		otherwise: Preferences[Name],
	): Preferences[Name] => CHOICES[name].find((choice) => choice === found[name]) ?? otherwise
	return {
		language: choose('language', /^ja\b/i.test(language) ? 'ja' : 'en'),
		theme: choose('theme', 'auto'),
		times: choose('times', 'relative'),
		shortcuts: choose('shortcuts', 'on'),
	}
}

function parse(stored: string | null): Readonly<Record<string, unknown>> {
	try {
		const found: unknown = JSON.parse(stored ?? '{}')
		return typeof found === 'object' && found !== null ? (found as Record<string, unknown>) : {}
	} catch {
		return {}
	}
}

/** Reads the choices. A browser may forbid the storage. */
export function loadPreferences(): Preferences {
	let stored: string | null = null
	try {
		stored = localStorage.getItem(KEY)
	} catch {}
	return readPreferences(stored, navigator.language)
}

export function savePreferences(preferences: Preferences): void {
	try {
		localStorage.setItem(KEY, JSON.stringify(preferences))
	} catch {}
}
