// Starts Swagger UI on /docs. It loads the description from this service, and nothing from elsewhere.
window.addEventListener("load", () => {
  SwaggerUIBundle({
    url: "/openapi.json",
    dom_id: "#swagger-ui",
    presets: [SwaggerUIBundle.presets.apis],
    defaultModelsExpandDepth: 0,
    displayRequestDuration: true,
    persistAuthorization: false,
    syntaxHighlight: { activated: false },
    validatorUrl: null,
  });
});
