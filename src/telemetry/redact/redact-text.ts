/**
 * Removes secrets from the texts of errors. Logs, event logs and spans use this one function, so that none of them shows what another hides. It
 * knows forms that are common in messages: URLs, authorization headers, and pairs such as `password=...`. It may remove more than the secret.
 */
import { reduceUrls } from '../../core/events/message-text.ts'

const HIDDEN = '***'

/** No form of a secret lacks all of these. Most texts are short names, and need only this check. */
const MAY_HAVE_SECRET = /[:=]|bearer\s/i

const AUTHORIZATION = /(authorization["']?\s*[:=]\s*["']?)[^"',;\r\n]+/gi
const BEARER = /(\bbearer\s+)[^\s"',;]+/gi
/** A quoted value ends at its quote, any other at white space. A quote that is missing hides the rest. */
const PASSWORD =
	/((?:password|passwd|passphrase|secret|api[_-]?key)["']?\s*[:=]\s*)(?:"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|\S+)/gi
/** `token:` without quotes is what a parser says before the character that it did not expect. */
const TOKEN = /(token(?:["']\s*[:=]|\s*=)\s*)(?:"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|\S+)/gi

/** Returns the text without the secrets of its URLs, authorization headers, passwords, keys and tokens. */
export function redactText(text: string): string {
	if (!MAY_HAVE_SECRET.test(text)) return text
	let rest = reduceUrls(text)
	for (const secret of [AUTHORIZATION, BEARER, PASSWORD, TOKEN]) rest = rest.replace(secret, `$1${HIDDEN}`)
	return rest
}
