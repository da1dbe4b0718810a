/** What every part of the page can use. */
import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { Overview } from '../src/dashboard/contract.ts'
import type { ActionRequest } from './state/action.ts'
import type { Histories } from './state/history.ts'
import type { Preferences } from './state/preferences.ts'
import type { Filter, Route, View } from './state/url.ts'
import type { PageWords } from './words/words.ts'

export interface Shared {
	readonly t: PageWords
	readonly preferences: Preferences
	/** The last overview, also while the server does not answer. */
	readonly overview: Overview
	readonly histories: Histories
	readonly route: Route
	/** Grows when the user asks for new figures, and after each action. */
	readonly version: number
	readonly mayAct: boolean
	go(view: View, filter?: Readonly<Record<string, string | undefined>>): void
	/** Changes the filter of the view. The back button leaves the view instead of undoing each change. */
	narrow(filter: Readonly<Record<string, string | undefined>>): void
	/** Opens the dialog of an action. */
	act(request: ActionRequest): void
	/** Shows a short message and announces it. */
	say(text: string): void
	refresh(): void
}

export const SharedContext = createContext<Shared | undefined>(undefined)

/** The time by the clock of the server. It has a context of its own, because it changes every second. */
export const NowContext = createContext(0)

export function useShared(): Shared {
	const shared = useContext(SharedContext)
	if (!shared) throw new Error('No SharedContext')
	return shared
}

export const useNow = (): number => useContext(NowContext)

/** The filter of the current view, or nothing if another view is shown. */
export const useFilter = (): Filter => useShared().route.filter
