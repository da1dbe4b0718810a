/** The state of the page is in the query string: a link shows the same view, and the back button works. */

/** The parameters of each view. Others are dropped. */
const PARAMETERS = {
	overview: [],
	calls: ['source', 'key', 'reason'],
	messages: [
		'outbox',
		'id',
		'destination',
		'key',
		'cause',
		'status',
		'from',
		'until',
		'topic',
		'text',
		'path',
		'value',
	],
	message: ['outbox', 'id'],
	dead: ['outbox', 'destination'],
	webhooks: ['webhooks', 'tenant', 'isFailing', 'isEnabled'],
	audit: ['outbox'],
} as const

export type View = keyof typeof PARAMETERS

export type Filter = Readonly<Record<string, string>>

export interface Route {
	readonly view: View
	readonly filter: Filter
}

const isView = (text: string): text is View => Object.hasOwn(PARAMETERS, text)

/** Returns the route with the known parameters that are not empty, in a fixed order: equal routes have equal URLs. */
export function routeTo(view: View, filter: Readonly<Record<string, string | undefined>> = {}): Route {
	const known = PARAMETERS[view].flatMap((name) => {
		const value = filter[name]
		return value === undefined || value === '' ? [] : [[name, value] as const]
	})
	return { view, filter: Object.fromEntries(known) }
}

/** Reads a query string. What is unknown leads to the overview. */
export function parseRoute(search: string): Route {
	const parameters = new URLSearchParams(search)
	const view = parameters.get('view') ?? 'overview'
	return isView(view) ? routeTo(view, Object.fromEntries(parameters)) : routeTo('overview')
}

/** Returns the query string of a route, with `?`. */
export function formatRoute({ view, filter }: Route): string {
	return `?${new URLSearchParams({ ...(view === 'overview' ? {} : { view }), ...filter })}`
}

/** Returns a query for the API, without what is empty. */
export function toQuery(parameters: Readonly<Record<string, string | undefined>>): string {
	const given = Object.entries(parameters).filter(
		(pair): pair is [string, string] => pair[1] !== undefined && pair[1] !== '',
	)
	return given.length === 0 ? '' : `?${new URLSearchParams(given)}`
}
