/** Longer messages are truncated. */
export const MAX_MESSAGE_LENGTH = 1_000

/** From a URL that may have credentials to white space. It is matched as a whole, so that the time is linear in the length of the text. */
const MAY_HAVE_CREDENTIALS = /:\/\/[^\s:@/?#]*[:@]\S*/g

/** A password may contain any character, so it ends at the last @. If that @ may be part of a path or a query, nothing is left of the URL. */
const CREDENTIALS = /^:\/\/([^/?#]*@(?=[^@]*$)|.*@.*)/

const QUERY = /(:\/\/[^\s?#]*)[^\s"']*/g

/** Returns a text whose URLs have no credentials, no query and no fragment, because these may be secrets. */
export const reduceUrls = (text: string): string =>
	text.replace(MAY_HAVE_CREDENTIALS, (rest) => rest.replace(CREDENTIALS, '://')).replace(QUERY, '$1')

/** Returns a message for events and `explain`: without the secrets of its URLs, and not longer than a log line should be. */
export function toMessageText(message: string, maxLength: number = MAX_MESSAGE_LENGTH): string {
	const text = reduceUrls(message)
	return text.length > maxLength ? `${text.slice(0, maxLength)}...` : text
}
