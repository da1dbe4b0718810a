/** The state of one origin apart from its policies. Its pause and quota apply to all requests unless `pauseScope` says otherwise. */
import type { Runtime } from '../../core/runtime/runtime.ts'
import type { HttpSettings } from '../options/http-options.ts'
import { pageOrigin } from '../transport/page.ts'
import { Pauses } from './pauses.ts'

/** Finds the state of another origin, if the client keeps one. */
export type FindOrigin = (name: string) => Origin | undefined

export class Origin extends Pauses {
	readonly name: string
	/** False in a browser for another origin, where custom headers need the server's consent (CORS). */
	readonly mayAddHeaders: boolean
	readonly #find: FindOrigin

	constructor(name: string, settings: HttpSettings, runtime: Runtime, find: FindOrigin) {
		super(settings, runtime)
		this.name = name
		this.#find = find
		const page = pageOrigin()
		this.mayAddHeaders = settings.isDeadlineHeaderNamed || page === undefined || page === name
	}

	/** Returns this origin or, after a redirect, the one with this name. Undefined if the client keeps no state for it. */
	respondent(name: string | undefined): Origin | undefined {
		return name === undefined || name === this.name ? this : this.#find(name)
	}
}
