import { invalidOption } from '../../core/options/schema.ts'
import { OK, STATUS_NAMES, type StatusCode } from '../status/status.ts'
import { readList } from './fields.ts'

/** OK is never the status of a failure, so listing it is a mistake. grpc-java rejects it too. */
const EXPECTED = `one of ${STATUS_NAMES.slice(OK + 1).join(', ')}, in upper or lower case, or a code from 1 to ${STATUS_NAMES.length - 1}`

/** Reads a list of status codes: names in any case, or integers. Throws an InvalidOptionError. */
export function readStatusCodes(path: string, value: unknown): ReadonlySet<StatusCode> {
	const codes = new Set<StatusCode>()
	for (const [index, item] of readList(path, value, 'a list of gRPC status codes').entries()) {
		const code = codeOf(item)
		if (code === undefined || code === OK) invalidOption(`${path}[${index}]`, item, EXPECTED)
		codes.add(code)
	}
	return codes
}

/** The same, with at least one code. */
export function readSomeStatusCodes(path: string, value: unknown): ReadonlySet<StatusCode> {
	const codes = readStatusCodes(path, value)
	if (codes.size === 0) invalidOption(path, value, 'at least one gRPC status code, such as "UNAVAILABLE"')
	return codes
}

const codeByName: ReadonlyMap<unknown, StatusCode> = /* @__PURE__ */ new Map(
	STATUS_NAMES.map((name, code) => [name, code]),
)

function codeOf(item: unknown): StatusCode | undefined {
	if (typeof item === 'number') return Object.hasOwn(STATUS_NAMES, item) ? item : undefined
	// Letters only: other characters may have ASCII letters as their upper case.
	return typeof item === 'string' && /^\w+$/.test(item) ? codeByName.get(item.toUpperCase()) : undefined
}
