/**
 * Loads a list page by page. A scan may read many messages and find none, so it continues until it has found enough,
 * the list has ended or the user stops it.
 */
import { useEffect, useRef, useState } from 'preact/hooks'
import { get } from './api.ts'

/** Items after which a scan waits for the user. */
const ENOUGH = 50

export interface Part<Item> {
	readonly items: readonly Item[]
	readonly next: string | null
	readonly scanned?: number
}

export interface Pages<Item> {
	readonly items: readonly Item[]
	readonly next: string | null
	readonly scanned: number
	readonly isLoading: boolean
	readonly error: Error | undefined
	more(): void
	stop(): void
}

type State<Item> = Omit<Pages<Item>, 'more' | 'stop'>

/** `next` is the name of the parameter that continues. Without a path nothing is loaded. */
export function usePages<Body, Item>(
	path: string | undefined,
	next: 'after' | 'before',
	read: (body: Body) => Part<Item>,
	version: unknown,
): Pages<Item> {
	const empty: State<Item> = { items: [], next: null, scanned: 0, isLoading: false, error: undefined }
	const [state, setState] = useState(empty)
	const running = useRef<AbortController>(undefined)

	const run = async (from: string | null, before: State<Item>): Promise<void> => {
		running.current?.abort()
		if (path === undefined) return setState(empty)
		const abort = new AbortController()
		running.current = abort
		let now: State<Item> = { ...before, isLoading: true, error: undefined }
		let position = from
		let found = 0
		// While the first page is loaded again, the old items stay.
		let items = from === null ? [] : before.items
		setState(now)
		try {
			do {
				const part = read(await get<Body>(continued(path, next, position), abort.signal))
				items = [...items, ...part.items]
				found += part.items.length
				position = part.next
				const scanned = now.scanned + (part.scanned ?? part.items.length)
				now = { ...now, items, next: position, scanned }
				setState(now)
			} while (position !== null && found < ENOUGH && !abort.signal.aborted)
			setState({ ...now, isLoading: false })
		} catch (error) {
			if (!abort.signal.aborted) setState({ ...now, isLoading: false, error: error as Error })
		}
	}

	const loaded = useRef<string>(undefined)
	// A new version loads the same list again.
	useEffect(() => {
		const isSame = loaded.current === path
		loaded.current = path
		void run(null, isSame ? { ...state, scanned: 0 } : empty)
		return () => running.current?.abort()
	}, [path, version])

	return {
		...state,
		more: () => void run(state.next, state),
		stop: () => {
			running.current?.abort()
			setState((before) => ({ ...before, isLoading: false }))
		},
	}
}

function continued(path: string, name: string, position: string | null): string {
	if (position === null) return path
	return `${path}${path.includes('?') ? '&' : '?'}${new URLSearchParams({ [name]: position })}`
}
