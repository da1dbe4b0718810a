/** Loads a body of the API, and loads it again when `version` changes. */
import { useEffect, useState } from 'preact/hooks'
import { get } from './api.ts'

export interface Loaded<Body> {
	readonly body: Body | undefined
	readonly error: Error | undefined
	readonly isLoading: boolean
}

/** While the same path is loaded again, the old body stays. */
export function useLoad<Body>(path: string | undefined, version: unknown): Loaded<Body> {
	const [state, setState] = useState<Loaded<Body> & { path: string | undefined }>({
		path: undefined,
		body: undefined,
		error: undefined,
		isLoading: false,
	})
	// A new version loads the same path again.
	useEffect(() => {
		if (path === undefined) return
		const abort = new AbortController()
		setState((before) => ({
			path,
			body: before.path === path ? before.body : undefined,
			error: undefined,
			isLoading: true,
		}))
		get<Body>(path, abort.signal).then(
			(body) => setState({ path, body, error: undefined, isLoading: false }),
			(error: Error) => {
				if (!abort.signal.aborted) setState((before) => ({ ...before, error, isLoading: false }))
			},
		)
		return () => abort.abort()
	}, [path, version])
	return state
}
