/**
 * Checks what can be known about a customer's URL without resolving its host. It runs when an endpoint is
 * created, where the customer can correct it, and again for each delivery, because the rules may have changed
 * and the URL comes from a database. It is not the protection by itself: the host may resolve to anything,
 * which guarded-lookup.ts checks when it is resolved.
 *
 * `new URL` parses the host as the client will connect to it: `0x7f.1`, `2130706433`, `0177.0.0.1`, `127.1`
 * and full-width digits are 127.0.0.1 afterwards. (Rejected: patterns on the text of the URL. Most known
 * bypasses of SSRF filters are differences between two parsers.)
 */
import {
	checkNames,
	checkRange,
	invalidOption,
	type OptionSchema,
	readOptions,
} from '../../../core/options/schema.ts'
import { textForMessage } from '../../../http/origin/origin-parser.ts'
import { show } from '../../message/errors.ts'
import { parseAddress } from './address.ts'
import { rejectedRangeOf } from './address-rules.ts'
import { type AllowList, readAllowList } from './allow-list.ts'
import { isInternalName, nameOfHost } from './host-names.ts'
import { WebhookUrlError, type WebhookUrlReason } from './webhook-url-error.ts'

/** Which URLs of customers are permitted. */
export interface WebhookUrlOptions {
	/**
	 * What is permitted beside public addresses: addresses (`'10.0.0.5'`), networks (`'10.0.0.0/8'`), and
	 * host names that may resolve to internal addresses, exact (`'billing.corp'`) or with all their
	 * subdomains (`'*.billing.corp'`). Default: nothing.
	 */
	readonly allow?: readonly string[] | undefined
	/** The permitted ports. Default `[443]`, with `allowHttp` `[443, 80]`. */
	readonly ports?: readonly number[] | undefined
	/** Permits `http:` beside `https:`, so that messages can be read on their way. Default false. */
	readonly allowHttp?: boolean | undefined
}

/** The validated options. */
export interface WebhookUrlRules {
	readonly allow: AllowList
	readonly ports: ReadonlySet<number>
	readonly allowHttp: boolean
}

export const WEBHOOK_URL_SCHEMA: OptionSchema = { allow: 'any', ports: 'any', allowHttp: 'boolean' }

const DEFAULT_PORTS: Readonly<Record<string, number>> = { 'https:': 443, 'http:': 80 }

/** Validates the options. `owner` is named in the error of an unknown option. */
export function readUrlRules(options: WebhookUrlOptions, owner = 'checkWebhookUrl'): WebhookUrlRules {
	checkNames(options, WEBHOOK_URL_SCHEMA, owner)
	const { allowHttp = false, ports, allow = [] } = readOptions<WebhookUrlOptions>(options, WEBHOOK_URL_SCHEMA)
	return {
		allow: readAllowList(allow),
		ports: new Set(ports === undefined ? defaultPorts(allowHttp) : readPorts(ports)),
		allowHttp,
	}
}

const defaultPorts = (allowHttp: boolean): readonly number[] => (allowHttp ? [443, 80] : [443])

function readPorts(ports: unknown): readonly number[] {
	if (!Array.isArray(ports) || ports.length === 0)
		invalidOption('ports', ports, 'an array of at least one port')
	for (const [index, port] of ports.entries()) checkRange(`ports[${index}]`, port, 1, 65_535, 'integer')
	return ports
}

/** Returns the parsed URL. Throws a WebhookUrlError if it is not permitted. */
export function checkWebhookUrl(url: unknown, rules: WebhookUrlRules): URL {
	const parsed = parse(url)
	const fail = (reason: WebhookUrlReason, expected: string): never => {
		throw new WebhookUrlError(reason, urlForError(parsed), expected)
	}
	const { protocol, hostname, username, password } = parsed
	if (protocol !== 'https:' && !(rules.allowHttp && protocol === 'http:')) {
		const schemes = rules.allowHttp ? 'https: or http:' : 'https:'
		fail('scheme', `the scheme ${schemes}, got ${protocol}`)
	}
	if (username !== '' || password !== '') fail('credentials', 'no user name and no password')
	const port = portOf(parsed)
	if (!rules.ports.has(port)) fail('port', `the port ${[...rules.ports].join(' or ')}, got ${port}`)
	const host = nameOfHost(hostname)
	if (parseAddress(host)) {
		const range = rejectedRangeOf(host, rules.allow)
		if (range !== undefined)
			throw new WebhookUrlError('address', urlForError(parsed), `a public address, got ${host} (${range})`, {
				address: host,
				range,
			})
	} else if (isInternalName(host) && !rules.allow.hasHost(host))
		fail('host', `the name of a public host, got '${host}'`)
	return parsed
}

/** Returns the port that a URL is requested at. */
export const portOf = ({ port, protocol }: URL): number =>
	port === '' ? (DEFAULT_PORTS[protocol] ?? 0) : Number(port)

/** Credentials and queries are secrets. Only the origin and the path are shown. */
export const urlForError = ({ protocol, host, pathname }: URL): string =>
	textForMessage(`${protocol}//${host}${pathname}`)

function parse(url: unknown): URL {
	const isText = typeof url === 'string' || url instanceof URL
	// A relative URL cannot be parsed without a base.
	if (isText && URL.canParse(`${url}`)) return new URL(url)
	const text = isText ? textForMessage(`${url}`) : show(url)
	throw new WebhookUrlError('syntax', text, "an absolute URL such as 'https://example.com/webhooks'")
}
