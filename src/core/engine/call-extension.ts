/**
 * How HTTP and gRPC add to a call what only they know: the only place where core knows that there are
 * protocols. They pass an object of their own with the call's options, so that it costs no further object,
 * and their entries have the types of what they add. Rejected: optional fields for each protocol in core's
 * types, which every user of core sees; and module augmentation, because the bundled declarations have other
 * modules.
 */
export interface CallExtension {
	/** The method of the request, for events and observers. */
	readonly method?: string | undefined
	/** What the call adds to its events, read for each event. The names begin with the name of the entry, such as `grpcStatus`. */
	readonly eventFields?: object | undefined
}
