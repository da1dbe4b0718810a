/**
 * The whole shape of a thrown error as JSON: the names of its classes, its own properties, and what getters of its classes return.
 * What changes from run to run (ports, folders, times) is replaced, so that a new recording differs only if a package does.
 */

const MAX_DEPTH = 5
const MAX_TEXT = 400
const MAX_ENTRIES = 24
/** Folders, streams, clients: no facts about the failure. */
const SKIPPED = new Set([
	'stack',
	'constructor',
	'__proto__',
	'request',
	'socket',
	'dataSource',
	'errorLabelSet',
])
const VARYING = /port$|time$|taken$|At$|duration$|date$/i

const scrub = (text) =>
	text
		.replaceAll(process.cwd(), '.')
		.replaceAll(/(127\.0\.0\.1|localhost|\[?::1\]?):\d+/g, '$1:1')
		.replaceAll(/\d+ ms passed/g, '1 ms passed')
		.slice(0, MAX_TEXT)

/** Returns the names of the value's classes, its own first. */
function classesOf(value) {
	const names = []
	for (let proto = Object.getPrototypeOf(value); proto; proto = Object.getPrototypeOf(proto))
		names.push(proto.constructor?.name ?? '')
	return names.filter((name) => name !== 'Object')
}

function entriesOf(value, names, depth) {
	const entries = names
		.filter((name) => !SKIPPED.has(name))
		.map((name) => [name, describe(value[name], depth + 1)])
		.map(([name, shape]) => [name, typeof shape === 'number' && VARYING.test(name) ? 1 : shape])
	return Object.fromEntries(entries.filter(([, shape]) => shape !== undefined).slice(0, MAX_ENTRIES))
}

/** Returns the names of getters in the value's classes, and `name` if a class defines it. */
function gettersOf(value) {
	const names = []
	let proto = Object.getPrototypeOf(value)
	for (
		;
		proto && proto !== Error.prototype && proto !== Object.prototype;
		proto = Object.getPrototypeOf(proto)
	) {
		for (const [name, { get }] of Object.entries(Object.getOwnPropertyDescriptors(proto)))
			if (get || name === 'name') names.push(name)
	}
	return names
}

/** Returns the value as JSON. Classes are in `$class`, what is inherited in `$inherited`, the entries of Headers and Map in `$entries`. */
export function describe(value, depth = 0) {
	if (typeof value === 'string') return scrub(value)
	if (value === null || typeof value === 'boolean' || typeof value === 'number') return value
	if (typeof value !== 'object' || depth > MAX_DEPTH || value instanceof Date) return undefined
	if (Array.isArray(value))
		return value.slice(0, MAX_ENTRIES).map((item) => describe(item, depth + 1) ?? null)
	const classes = classesOf(value)
	if (value instanceof Response)
		return {
			$class: classes,
			$inherited: { status: value.status, headers: describe(value.headers, depth + 1) },
		}
	if (value instanceof Headers || value instanceof Map)
		return { $class: classes, $entries: [...value].filter(([name]) => !VARYING.test(name)) }
	// Only errors and plain data: a client, a stream or a parser attached to an error is no fact about it.
	const isPlain = classes.length === 0 || /(Error|Item)$/.test(classes[0])
	if (!(value instanceof Error) && !isPlain) return undefined
	const inherited = gettersOf(value).filter((name) => !Object.hasOwn(value, name))
	return {
		...(classes.length > 0 && { $class: classes }),
		...(inherited.length > 0 && { $inherited: entriesOf(value, inherited, depth) }),
		...entriesOf(value, Object.getOwnPropertyNames(value), depth),
	}
}
