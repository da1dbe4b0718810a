/** Each field that `yaoki top` shows is checked, because a server may be another program or another version. */
import { expect, test } from 'vitest'
import { checkOverview } from '../../../src/cli/top/check-overview.ts'
import { PROBLEMS } from '../../dashboard/page/sample.ts'
import { EMPTY, OVERVIEW } from './setup.ts'

type Path = readonly (string | number)[]

const WHOLE = { ...OVERVIEW, problems: Object.values(PROBLEMS) }

/** Names of rows, such as an option of `disabled`. Any name is valid there. */
const RECORDS = ['figures', 'disabled']

function* pathsOf(value: unknown, path: Path = []): Generator<Path> {
	if (path.length > 0) yield path
	if (typeof value !== 'object' || value === null) return
	for (const name of Object.keys(value))
		yield* pathsOf(Reflect.get(value, name), [...path, Array.isArray(value) ? Number(name) : name])
}

/** Returns a copy of the overview with another value at the path. */
function withValue([name, ...rest]: Path, value: unknown, object: object): object {
	const copy: object = Array.isArray(object) ? [...object] : { ...object }
	const old: unknown = Reflect.get(object, name ?? '')
	Reflect.set(copy, name ?? '', rest.length === 0 ? value : withValue(rest, value, Object(old)))
	return copy
}

const textOf = (path: Path): string =>
	path.map((name, at) => (typeof name === 'number' ? `[${name}]` : at === 0 ? name : `.${name}`)).join('')

test('accepts an overview with every kind of row and problem, and with fields of a later version', () => {
	for (const overview of [WHOLE, OVERVIEW, EMPTY]) expect(checkOverview(overview)).toBeUndefined()
	expect(checkOverview({ ...WHOLE, later: 1, process: { ...WHOLE.process, later: 1 } })).toBeUndefined()
})

test.each([
	['a missing value', undefined],
	['a value of another type', Symbol('other')],
])('names %s, whichever it is', (_, value) => {
	for (const path of pathsOf(WHOLE)) {
		const isNamedRow = value === undefined && RECORDS.includes(String(path.at(-2)))
		if (isNamedRow) continue
		expect(checkOverview(withValue(path, value, WHOLE)), textOf(path)).toMatch(
			new RegExp(`^${textOf(path).replaceAll(/[[\].]/g, '\\$&')} must be `),
		)
	}
})

test('a problem of an unknown kind is named, because there is no sentence for it', () => {
	const problem = { ...PROBLEMS['no-relay'], kind: 'constructor' }
	expect(checkOverview({ ...WHOLE, problems: [problem] })).toMatch(/^problems\[0\]\.kind must be one of /)
})

test.each([undefined, null, 'text', 5, [], true])('names %j instead of an overview', (body) => {
	expect(checkOverview(body)).toMatch(/^the response must be an object, got /)
})
